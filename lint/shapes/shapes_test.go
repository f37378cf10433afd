package main

import "testing"

// TestShapes proves that unbounded finds each shape that nothing bounds, and says nothing of those that something does.
func TestShapes(t *testing.T) {
	const testdata = "../unbounded/testdata"
	said, err := judge(testdata)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]struct {
		found   bool
		atLeast int
	}{
		"unbounded": {found: true, atLeast: 40},
		"bounded":   {found: false, atLeast: 20},
	} {
		shapes, err := readShapes(testdata, folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(shapes) < want.atLeast {
			t.Errorf("%s: %d shapes, want at least %d", folder, len(shapes), want.atLeast)
		}
		for _, s := range shapes {
			if rules := s.by("unbounded", said); len(rules) > 0 != want.found {
				t.Errorf("%s: %s: found by %v, want found: %t", folder, s.title, rules, want.found)
			}
		}
	}
}
