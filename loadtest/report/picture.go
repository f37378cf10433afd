package report

// Picture is the picture at the top as two files, for light and for dark surroundings: SVG that stands in a README.
// Both are empty where there is no run.
func (r *Report) Picture() (light, dark string) {
	run := r.leading()
	if run == nil {
		return "", ""
	}
	drawn := overviewOf(run).svg(wide)
	return coloured(drawn, inLight), coloured(drawn, inDark)
}
