// Package seed holds what the shop starts with: its books, their prices and first stock, and an order history to
// recommend from. The books are data, in books.yaml, for a person to edit; the history is made from a number.
package seed

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// AlwaysInStock is the stock of a title that never runs out: of every title whose entry gives none.
const AlwaysInStock = 1_000_000

// MaxIDLength is how many bytes a book's id has at most.
const MaxIDLength = 100

// Book is one title on sale.
type Book struct {
	ID          string   // the slug of Title, see ValidID; unique
	Title       string   // as it is best known in English
	Author      string   // as on the title page of an English edition; the same text for the same person
	Year        int      // of first publication, 1450..1929
	Language    string   // of the original: one of Languages
	Subjects    []string // 1..4 of Subjects, each once, the most telling first
	Description string   // two sentences
	PriceCents  int64    // US cents, 500..9000
	Stock       int      // copies at the start, 0..AlwaysInStock
}

// Subjects are what a book may be about, sorted.
var Subjects = []string{
	"adventure", "childhood", "crime", "drama", "fantasy", "gothic", "history", "love", "memoir", "nature",
	"philosophy", "poetry", "satire", "science-fiction", "sea", "society", "travel",
}

// Languages are what a book may first have been written in, sorted.
var Languages = []string{
	"Danish", "Dutch", "English", "French", "German", "Italian", "Japanese", "Norwegian", "Polish", "Portuguese",
	"Russian", "Spanish", "Swedish",
}

//go:embed books.yaml
var booksYAML []byte

var books = sync.OnceValue(func() []Book {
	books, err := parse(booksYAML)
	if err != nil {
		// The file is part of the program, and a test of this package reads it: no caller could do better.
		panic(fmt.Sprintf("seed: %v", err))
	}
	return books
})

// Books returns every book, sorted by id. The result is the caller's own to change.
func Books() []Book {
	all := slices.Clone(books())
	for i := range all {
		all[i].Subjects = slices.Clone(all[i].Subjects)
	}
	return all
}

// ValidID reports whether id has the form of a book's id: words of a–z and 0–9 joined by single hyphens, at most
// MaxIDLength bytes. It does not say that there is such a book.
func ValidID(id string) bool {
	if len(id) > MaxIDLength {
		return false
	}
	for word := range strings.SplitSeq(id, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// slug turns a title into an id: accents and apostrophes dropped, everything between words a hyphen.
func slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFD.String(strings.ToLower(title)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case r == '\'', r == '’', unicode.Is(unicode.Mn, r): // within a word
		default:
			gap = true
		}
	}
	return b.String()
}
