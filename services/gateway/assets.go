package gateway

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/go-chi/chi/v5"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages need, by a name that carries a hash of the content: shop.1f2e3d4c5b6a.css. What has
// such a name never changes, so a browser asks for it once.
var assets, assetURLs = hashAssets()

type asset struct {
	body        []byte
	contentType string
}

func hashAssets() (byName map[string]asset, urls map[string]string) {
	byName, urls = map[string]asset{}, map[string]string{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // embedded: the build would have failed
	}
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		ext := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		byName[name] = asset{body, mime.TypeByExtension(ext)}
		urls[e.Name()] = "/assets/" + name
	}
	return byName, urls
}

func (s *Service) asset(w http.ResponseWriter, r *http.Request) error {
	a, ok := assets[chi.URLParam(r, "name")]
	if !ok {
		return notFound(w, r)
	}
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return write(w, http.StatusOK, a.body)
}
