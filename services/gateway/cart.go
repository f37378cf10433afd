package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/holdfast/internal/problem"
)

// The cart is a signed cookie: no store has to be up for a person to fill one. What bounds it keeps the cookie
// under the 4,096 bytes that every browser takes: 30 × (100 + 4) + 75 = 3,195.
const (
	cartCookie  = "cart"
	cartAge     = 30 * 24 * time.Hour
	maxLines    = 30
	maxQuantity = 99
	maxBookID   = 100
)

var bookID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// validBook says whether id can be a book's: a slug, and short enough for a cart. It bounds what reaches the
// catalogue's URL, the cookie and the keys of the copies.
func validBook(id string) bool { return len(id) <= maxBookID && bookID.MatchString(id) }

// cart is what a person means to buy. Key is the idempotency key of the order it would become: it lives as long as
// the lines do not change, so that however often and from however many tabs the same cart is sent, it is one order.
type cart struct {
	Key   string
	Lines []line
}

type line struct {
	Book     string
	Quantity int
}

var (
	errCartFull = problem.New(problem.InvalidRequest,
		"A cart holds at most 30 titles. Order what you have, or take one out.")
	errQuantity = invalid("quantity", "of a title must be a whole number from 1 to 99")
)

// add puts n more copies of a book into the cart.
func (c *cart) add(book string, n int) error {
	if i := c.find(book); i >= 0 {
		n += c.Lines[i].Quantity
	}
	return c.set(book, n)
}

// set makes it n copies of a book.
func (c *cart) set(book string, n int) error {
	if n < 1 || n > maxQuantity {
		return errQuantity
	}
	i := c.find(book)
	switch {
	case i >= 0:
		c.Lines[i].Quantity = n
	case len(c.Lines) == maxLines:
		return errCartFull
	default:
		c.Lines = append(c.Lines, line{book, n})
	}
	c.Key = rand.Text()
	return nil
}

// remove takes a book out of the cart.
func (c *cart) remove(book string) {
	if i := c.find(book); i >= 0 {
		c.Lines = slices.Delete(c.Lines, i, i+1)
		c.Key = rand.Text()
	}
}

func (c *cart) find(book string) int {
	return slices.IndexFunc(c.Lines, func(l line) bool { return l.Book == book })
}

// books are the ids of what is in the cart.
func (c *cart) books() []string {
	ids := make([]string, len(c.Lines))
	for i, l := range c.Lines {
		ids[i] = l.Book
	}
	return ids
}

// volumes is how many books are in the cart, for the badge in the head of every page.
func (c *cart) volumes() (n int) {
	for _, l := range c.Lines {
		n += l.Quantity
	}
	return n
}

// cartKeeper keeps carts in signed cookies.
type cartKeeper struct {
	key    []byte
	secure bool // the cookie travels over TLS only
}

// read returns the request's cart. A cookie that this shop has not signed is an empty cart, and foreign, so that
// the person can be told.
func (k cartKeeper) read(r *http.Request) (c cart, foreign bool) {
	cookie, err := r.Cookie(cartCookie)
	if err != nil {
		return cart{}, false
	}
	c, ok := k.decode(cookie.Value)
	return c, !ok
}

// write sets the cart; an empty one removes the cookie.
func (k cartKeeper) write(w http.ResponseWriter, c cart) {
	cookie := &http.Cookie{
		Name: cartCookie, Path: "/", HttpOnly: true, Secure: k.secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(cartAge / time.Second),
	}
	if len(c.Lines) == 0 {
		cookie.MaxAge = -1
	} else {
		cookie.Value = k.encode(c)
	}
	http.SetCookie(w, cookie)
}

// encode gives version.key.book*quantity~book*quantity.signature: characters that a cookie may hold as they are.
func (k cartKeeper) encode(c cart) string {
	var b strings.Builder
	b.WriteString("1." + c.Key + ".")
	for i, l := range c.Lines {
		if i > 0 {
			b.WriteByte('~')
		}
		b.WriteString(l.Book + "*" + strconv.Itoa(l.Quantity))
	}
	return b.String() + "." + k.sign(b.String())
}

func (k cartKeeper) decode(value string) (cart, bool) {
	dot := strings.LastIndexByte(value, '.')
	if dot < 0 || !hmac.Equal([]byte(value[dot+1:]), []byte(k.sign(value[:dot]))) {
		return cart{}, false
	}
	version, rest, _ := strings.Cut(value[:dot], ".")
	key, lines, ok := strings.Cut(rest, ".")
	if version != "1" || !ok {
		return cart{}, false
	}
	c := cart{Key: key}
	for text := range strings.SplitSeq(lines, "~") {
		book, quantity, _ := strings.Cut(text, "*")
		n, err := strconv.Atoi(quantity)
		if err != nil || n < 1 || n > maxQuantity || !validBook(book) || len(c.Lines) == maxLines {
			return cart{}, false // signed once, by rules that have changed since
		}
		c.Lines = append(c.Lines, line{book, n})
	}
	return c, true
}

// sign names what it signs, so that the signature of another thing under the same key is never one of a cart.
func (k cartKeeper) sign(payload string) string {
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte("cart\n" + payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
