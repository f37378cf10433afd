package service

import (
	"strings"
	"testing"
)

// What is wrong with a body is told by the field, and what that must be, in no words of Go.
func TestDecodeJSONNamesTheField(t *testing.T) {
	type item struct {
		Book     string `json:"book"`
		Quantity int    `json:"quantity"`
	}
	type order struct {
		Items    []item `json:"items"`
		Currency string `json:"currency"`
	}
	tests := []struct{ name, doc, field, says string }{
		{"right", `{"items":[{"book":"emma","quantity":1},{"book":"walden","quantity":1}],"currency":"USD"}`, "", ""},
		{"a number of scientists", `{"items":[{"quantity":1e9}]}`, "items.quantity", "whole number"},
		{"a half", `{"items":[{"quantity":1.5}]}`, "items.quantity", "whole number"},
		{"a string for a number", `{"items":[{"quantity":"1"}]}`, "items.quantity", "whole number"},
		{"an object for an array", `{"items":{}}`, "items", "array"},
		{"a number for a string", `{"currency":5}`, "currency", "string"},
		{"an unknown field", `{"gift":true}`, "body", `unknown field: "gift"`},
		{"an unknown field without end", `{"` + strings.Repeat("x", 9999) + `":1}`, "body", "shaped so"},
		{"an array", `[]`, "body", "shaped so"},
		{"nothing", ``, "body", "shaped so"},
		{"half", `{"items":`, "body", "shaped so"},
		{"two documents", `{} {}`, "body", "more than one"},
		{"rubbish behind", `{} x`, "body", "more than one"},
		{"a field twice", `{"currency":"USD","currency":"EUR"}`, "currency", "more than once"},
		{"a field twice, once shouted", `{"currency":"USD","CURRENCY":"EUR"}`, "CURRENCY", "more than once"},
		{"a field twice, deep", `{"items":[{"book":"emma"},{"quantity":1,"quantity":2}]}`, "items[1].quantity", "more than once"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			broken := DecodeJSON([]byte(tt.doc), new(order), "must be shaped so")
			if broken == nil {
				if tt.field != "" {
					t.Errorf("taken, want a complaint about %s", tt.field)
				}
				return
			}
			if broken.Field != tt.field || !strings.Contains(broken.Message, tt.says) {
				t.Errorf("%s %s, want %s with %q", broken.Field, broken.Message, tt.field, tt.says)
			}
			if strings.Contains(broken.Message, "Go ") || strings.Contains(broken.Message, "json:") {
				t.Errorf("speaks of Go: %s", broken.Message)
			}
		})
	}
}
