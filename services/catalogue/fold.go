package catalogue

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// plain spells the letters that Unicode does not take apart but a keyboard without them does.
var plain = strings.NewReplacer("æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ı", "i")

// fold takes case and accents off: "Les Misérables" and "LES MISERABLES" fold to one string.
func fold(s string) string {
	s = cases.Fold().String(norm.NFKD.String(s))
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
	return plain.Replace(s)
}

// words takes s apart into its folded words: runs of letters and digits.
func words(s string) []string {
	return strings.FieldsFunc(fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

var withoutApostrophes = strings.NewReplacer("'", "", "’", "")

// searchText is what the words of a search are looked for in: each word with a space before it, and every word with
// an apostrophe both taken apart and as one, so that "alices", "alice's" and "alice" find Alice's.
func searchText(b Book) string {
	s := strings.Join(append([]string{b.Title, b.Author}, b.Subjects...), " ")
	w := words(s)
	if joined := withoutApostrophes.Replace(s); joined != s {
		w = append(w, words(joined)...)
	}
	return " " + strings.Join(w, " ")
}

// titleKey orders titles as a library does: without the article in front.
func titleKey(title string) string {
	w := words(title)
	if len(w) > 1 && (w[0] == "the" || w[0] == "a" || w[0] == "an") {
		w = w[1:]
	}
	return strings.Join(w, " ")
}

// authorKey orders authors by surname: of the first one named, what follows the last particle (Miguel de Cervantes
// Saavedra stands under C), else the last word. It is a rule of thumb: it files Sun Tzu under T.
func authorKey(author string) string {
	first := author
	for _, end := range []string{",", "(", " and ", " & "} {
		first, _, _ = strings.Cut(first, end)
	}
	w := words(first)
	if len(w) == 0 {
		return fold(author)
	}
	surname := len(w) - 1
	for i := 1; i < surname; i++ {
		switch w[i] {
		case "de", "la", "du", "da", "di", "von", "van", "der", "den":
			surname = i + 1
		}
	}
	return strings.Join(slices.Concat(w[surname:], w[:surname]), " ")
}
