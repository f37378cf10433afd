package gateway

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func keeper(fill byte) cartKeeper { return cartKeeper{key: bytes.Repeat([]byte{fill}, minCartKey)} }

// Whatever a person may put into a cart comes back out of the cookie, and the cookie fits into every browser.
func TestCartSurvivesItsCookie(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c cart
		id := rapid.StringMatching(`[a-z0-9]{1,50}(-[a-z0-9]{1,49})?`)
		ids := rapid.SliceOfNDistinct(id, 0, maxLines, rapid.ID).Draw(t, "ids")
		for _, id := range ids {
			if err := c.set(id, rapid.IntRange(1, maxQuantity).Draw(t, "quantity")); err != nil {
				t.Fatal(err)
			}
		}
		w := httptest.NewRecorder()
		keeper(1).write(w, c)
		set := w.Header().Get("Set-Cookie")
		if len(set) > 4096 {
			t.Fatalf("the cookie has %d bytes, browsers take 4096", len(set))
		}
		r := httptest.NewRequest(http.MethodGet, "/cart", nil)
		r.AddCookie(w.Result().Cookies()[0])
		if len(ids) == 0 {
			r.Header.Del("Cookie") // what the browser does with a cookie that has expired
			c = cart{}
		}
		got, foreign := keeper(1).read(r)
		if foreign || !cmp.Equal(got, c) {
			t.Fatalf("foreign %t: %s", foreign, cmp.Diff(c, got))
		}
	})
}

// The fullest cart of the longest ids still fits.
func TestFullestCartFitsIntoACookie(t *testing.T) {
	c := cart{}
	for i := range maxLines {
		id := strings.Repeat("a", maxBookID-2) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		if err := c.set(id, maxQuantity); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(keeper(1).encode(c)); n > 3800 {
		t.Errorf("%d bytes", n)
	}
}

// Not one byte of a signed cart can be changed.
func TestTamperedCartIsForeign(t *testing.T) {
	k := keeper(1)
	value := k.encode(cart{Key: "KEY", Lines: []line{{"emma", 1}, {"moby-dick", 99}}})
	if _, ok := k.decode(value); !ok {
		t.Fatal("a cart of our own is not read")
	}
	for i := range len(value) {
		forged := []byte(value)
		forged[i] ^= 1
		if c, ok := k.decode(string(forged)); ok && string(forged) != value {
			t.Errorf("byte %d changed, and read as %v", i, c)
		}
	}
	for name, forged := range map[string]string{
		"another shop's": keeper(2).encode(cart{Key: "KEY", Lines: []line{{"emma", 1}}}),
		"unsigned":       "1.KEY.emma*1.", "empty": "", "dots": "....", "long": strings.Repeat("a", 8000),
	} {
		if c, ok := k.decode(forged); ok {
			t.Errorf("%s cookie is read as %v", name, c)
		}
	}
}

// What is signed but breaks the rules of today is foreign too, rather than half a cart.
func TestSignedNonsenseIsForeign(t *testing.T) {
	k := keeper(1)
	for _, payload := range []string{
		"1.KEY.emma*0", "1.KEY.emma*100", "1.KEY.../x*1", "1.KEY.emma", "1.KEY.", "2.KEY.emma*1", "1.KEY",
		"1.KEY." + strings.Repeat("emma*1~", maxLines) + "emma*1",
	} {
		if c, ok := k.decode(payload + "." + k.sign(payload)); ok {
			t.Errorf("%s is read as %v", payload, c)
		}
	}
}

// A tampered cart is an empty one; the person is told, once.
func TestTamperedCartIsSaidOnce(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.putInCart("emma")
	home, _ := url.Parse(g.url)
	forge := func() {
		b.http.Jar.SetCookies(home, []*http.Cookie{{Name: cartCookie, Value: "1.KEY.emma*99.forged", Path: "/"}})
	}
	forge()
	b.get("/books").want(http.StatusOK, cartEmptied).without("Cart (")
	b.get("/cart").want(http.StatusOK, "Your cart is empty").without(cartEmptied)
	forge()
	b.putInCart("walden").want(http.StatusOK, cartEmptied, "Cart (1)")
	b.get("/cart").want(http.StatusOK, "Cart (1)").without(cartEmptied)
}

// The cookie is out of reach of scripts and of other sites.
func TestCartCookieIsGuarded(t *testing.T) {
	w := httptest.NewRecorder()
	cartKeeper{key: keeper(1).key, secure: true}.write(w, cart{Key: "KEY", Lines: []line{{"emma", 1}}})
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
		t.Errorf("cookie is %s", w.Header().Get("Set-Cookie"))
	}
}

// The key of the order is the cart's: as long as the lines stay, it stays; when they change, it changes.
func TestKeyChangesWithTheCart(t *testing.T) {
	g := open(t)
	b := g.browser()
	key := func(p page) string { return p.form("/orders", nil).Get("key") }
	first := key(b.putInCart("emma"))
	if again := key(b.get("/cart")); again != first {
		t.Errorf("looking at the cart changed its key from %q to %q", first, again)
	}
	if other := key(b.putInCart("walden")); other == first || other == "" {
		t.Errorf("another cart has the key %q again", other)
	}
}

func TestD11CartTakesNoNonsense(t *testing.T) {
	g := open(t)
	full := g.browser()
	for i := range maxLines {
		full.putInCart("book-" + string(rune('a'+i%26)) + string(rune('a'+i/26)))
	}
	add := func(book, quantity string) url.Values {
		return url.Values{"action": {"add"}, "book": {book}, "quantity": {quantity}}
	}
	for _, c := range []struct {
		name string
		form url.Values
		says string
	}{
		{"quantity 0", add("emma", "0"), "from 1 to 99"},
		{"quantity −1", url.Values{"action": {"set"}, "book": {"emma"}, "quantity": {"-1"}}, "from 1 to 99"},
		{"quantity 10⁹", add("emma", "1000000000"), "from 1 to 99"},
		{"quantity beyond int", add("emma", "99999999999999999999"), "from 1 to 99"},
		{"no quantity", url.Values{"action": {"add"}, "book": {"emma"}}, "from 1 to 99"},
		{"id with ../", add("../../etc/passwd", "1"), "not one of the shop’s"},
		{"id of 10 KB", add(strings.Repeat("a", 10<<10), "1"), "not one of the shop’s"},
		{"no id", add("", "1"), "not one of the shop’s"},
		{"no action", url.Values{"book": {"emma"}, "quantity": {"1"}}, "must be add, set or remove"},
		{"the 31st title", add("emma", "1"), "at most 30 titles"},
	} {
		t.Run(c.name, func(t *testing.T) {
			full.post("/cart", c.form).want(http.StatusBadRequest, c.says)
		})
	}
	full.get("/books").want(http.StatusOK, "Cart (30)") // and is as it was
	b := g.browser()
	b.putInCart("emma")
	b.post("/cart", add("emma", "99")).want(http.StatusBadRequest, "from 1 to 99")
	b.get("/books").want(http.StatusOK, "Cart (1)")
}
