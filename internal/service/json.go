package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"example.com/holdfast/internal/problem"
)

// maxFieldName is the most of a field's name that an answer repeats.
const maxFieldName = 64

// RequireJSON refuses a request whose body does not say that it is JSON.
func RequireJSON(r *http.Request) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return problem.New(problem.UnsupportedMedia, "Send Content-Type: application/json.")
	}
	return nil
}

// DecodeJSON reads the one JSON document of a request. It takes no field that into does not know and none that is
// given twice: either might have been a wish, and nobody can tell which of two was meant. What is wrong is told by
// the field and what it must be, in no words of Go; shape says what the document as a whole must be.
func DecodeJSON(doc []byte, into any, shape string) *problem.FieldError {
	broken := func(field, message string) *problem.FieldError {
		return &problem.FieldError{Field: field, Message: message}
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	mismatch, mismatched := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case mismatched && mismatch.Field != "":
		return broken(mismatch.Field, "must be a JSON "+jsonType(mismatch.Type.Kind()))
	case err != nil:
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok && len(name) <= maxFieldName {
			return broken("body", "has an unknown field: "+name)
		}
		return broken("body", shape)
	}
	if _, err := d.Token(); err != io.EOF {
		return broken("body", "has more than one JSON document")
	}
	if name := twice(json.NewDecoder(bytes.NewReader(doc)), ""); name != "" {
		return broken(name, "is given more than once")
	}
	return nil
}

// twice walks over the next value of a document that is known to be JSON, and returns the path of the first field
// that its object has twice; "" where there is none. Names that differ in case alone are one field to the decoder.
func twice(d *json.Decoder, path string) string {
	token, _ := d.Token()
	switch token {
	case json.Delim('{'):
		seen := make(map[string]bool)
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			at := strings.TrimPrefix(path+"."+name, ".")
			folded := strings.ToLower(name)
			if seen[folded] {
				return at
			}
			seen[folded] = true
			if found := twice(d, at); found != "" {
				return found
			}
		}
		_, _ = d.Token() // }
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if found := twice(d, fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}
		_, _ = d.Token() // ]
	}
	return ""
}

func jsonType(k reflect.Kind) string {
	switch k {
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		return "object"
	case reflect.Int:
		return "whole number"
	default:
		return k.String()
	}
}
