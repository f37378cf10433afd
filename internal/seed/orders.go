package seed

import (
	"math/rand/v2"
	"slices"
	"sort"
)

// How the history is made. All weights are whole numbers, because a sum of floats may differ between processors in its
// last bit, and one seed must give one history everywhere.
const (
	topWeight    = 1_000_000 // of the most popular book; the one of rank r weighs 1/r of it (Zipf's law, exponent 1)
	authorPull   = 120       // how much likelier a reader takes another book by the same author
	subjectsPull = 2         // … and one that shares k subjects, times k²
)

// orderSizes are the odds of an order of 1, 2, … books, in per cent: most people buy one or two.
var orderSizes = [...]int{40, 28, 16, 10, 6}

// Orders makes a history of n orders, each the ids of 1 to 5 distinct books in the order in which they were picked.
// The same seed gives the same history, and a longer one begins with a shorter one. n below 1 gives none.
//
// How popular a book is follows Zipf's law, the ranks drawn from the seed. Each order is one reader's: the first book
// is picked by popularity alone and shows the taste, the others by popularity times how well they suit it: the same
// author, shared subjects.
func Orders(seed uint64, n int) [][]string {
	return orders(books(), seed, n)
}

func orders(books []Book, seed uint64, n int) [][]string {
	if n < 1 || len(books) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	popularity := make([]int, len(books))
	for rank, i := range rng.Perm(len(books)) {
		popularity[i] = topWeight / (rank + 1)
	}
	first := newDice(popularity)
	next := make([]dice, len(books)) // by the first book, made when needed
	sizes := newDice(orderSizes[:])

	history := make([][]string, n)
	for o := range history {
		size := min(sizes.roll(rng)+1, len(books))
		picked := []int{first.roll(rng)}
		suits := &next[picked[0]]
		if *suits == nil {
			*suits = newDice(tasteOf(books[picked[0]], books, popularity))
		}
		for len(picked) < size {
			if i := suits.roll(rng); !slices.Contains(picked, i) {
				picked = append(picked, i)
			}
		}
		history[o] = make([]string, size)
		for i, book := range picked {
			history[o][i] = books[book].ID
		}
	}
	return history
}

// tasteOf weighs all books for the reader who picked first.
func tasteOf(first Book, books []Book, popularity []int) []int {
	weights := make([]int, len(books))
	for i, b := range books {
		pull := 1
		if b.Author == first.Author {
			pull += authorPull
		}
		shared := 0
		for _, s := range b.Subjects {
			if slices.Contains(first.Subjects, s) {
				shared++
			}
		}
		weights[i] = popularity[i] * (pull + subjectsPull*shared*shared)
	}
	return weights
}

// dice picks an index with the odds of its weight: the running sums of the weights, all of which are above zero.
type dice []int

func newDice(weights []int) dice {
	d := make(dice, len(weights))
	sum := 0
	for i, w := range weights {
		sum += w
		d[i] = sum
	}
	return d
}

func (d dice) roll(rng *rand.Rand) int {
	return sort.SearchInts(d, rng.IntN(d[len(d)-1])+1)
}
