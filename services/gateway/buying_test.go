package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/net/html"

	"example.com/holdfast/internal/problem"
)

// A person without JavaScript buys two books, from the shelf to the page of the order; what is
// charged is what was shown.
func TestBuyWithoutJavaScript(t *testing.T) {
	g := open(t)
	b := g.browser()
	shelf := b.get("/").want(http.StatusOK, "3 books", "Moby-Dick")
	shelf = shelf.submit("/currency", nil, url.Values{"currency": {"EUR"}}).want(http.StatusOK, "€11.00")
	cart := shelf.follow("/books/moby-dick").want(http.StatusOK, "Moby-Dick", "An Author", "1 left", "€11.00").
		submit("/cart", url.Values{"book": {"moby-dick"}}, nil).want(http.StatusOK, "Cart (1)")
	if cart.path != "/cart" {
		t.Errorf("after adding a book the browser is at %s, want /cart: reloading must add nothing", cart.path)
	}
	cart = b.get("/books/emma").submit("/cart", url.Values{"book": {"emma"}}, url.Values{"quantity": {"2"}}).
		want(http.StatusOK)
	cart = cart.submit("/cart", url.Values{"action": {"set"}, "book": {"emma"}}, url.Values{"quantity": {"3"}}).
		want(http.StatusOK, "Cart (4)", "Total €44.00")

	placed := cart.submit("/orders", nil, nil).want(http.StatusOK, "Your order", "ord_1", "Moby-Dick", "Emma", "€44.00")
	if placed.path != "/orders/ord_1" {
		t.Errorf("after ordering the browser is at %s, want the order's own page", placed.path)
	}
	placed.without("Cart (")
	order := g.fake.orders["ord_1"]
	if got := order.Total.String(); got != "44.00 EUR" {
		t.Errorf("checkout was told to expect %s, want what the cart showed", got)
	}
	if g.fake.keys[0] == "" {
		t.Error("the order came without an idempotency key")
	}
	b.get("/orders?number=+ord_1+").want(http.StatusOK, "€44.00") // come back with the number
}

// The amount in the form is the catalogue's unit price × quantity, whatever the digits of the currency.
func TestD4TotalsHaveTheDigitsOfTheirCurrency(t *testing.T) {
	g := open(t)
	for code, want := range map[string]string{"USD": "37.50", "EUR": "33.00", "JPY": "5550"} {
		b := g.browser()
		b.putInCart("emma", "emma", "moby-dick")
		if got := b.get("/cart?currency="+code).form("/orders", nil).Get("total"); got != want {
			t.Errorf("three books in %s: total %q, want %q", code, got, want)
		}
	}
}

// A cart asks the catalogue once, however many titles it holds.
func TestD6OneCallForTheWholeCart(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.putInCart("walden", "emma", "moby-dick")
	g.fake.set(func() { g.fake.asked = nil })
	b.get("/cart").want(http.StatusOK)
	want := []string{"/books?currency=USD&ids=emma%2Cmoby-dick%2Cwalden"}
	if !slices.Equal(g.fake.asked, want) {
		t.Errorf("the catalogue was asked %q, want %q", g.fake.asked, want)
	}
}

// Nothing about the cart changes when an order is refused, and the same key takes it afterwards.
func TestRefusedOrderKeepsCartAndKey(t *testing.T) {
	g := open(t)
	cases := []struct {
		name    string
		refusal *problem.Problem
		status  int
		says    []string
		retry   string
	}{
		{"checkout cannot", problem.New(problem.Unavailable, "No prices."), http.StatusServiceUnavailable,
			[]string{"Orders are not being taken just now", "Your cart is safe", "in a minute"}, "60"},
		{"checkout broke", problem.New(problem.Internal, "Oh."), http.StatusServiceUnavailable,
			[]string{"could not learn whether your order was taken", "never taken twice"}, "60"},
		{"in progress", problem.New(problem.OrderInProgress, "Wait."), http.StatusConflict,
			[]string{"being placed at this moment"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := g.browser()
			g.fake.set(func() { g.fake.order, g.fake.keys = refuse(c.refusal), nil })
			refused := b.putInCart("emma").submit("/orders", nil, nil).
				want(c.status, c.says...).wantHeader("Retry-After", c.retry)
			b.get("/cart").want(http.StatusOK, "Emma", "Cart (1)")
			g.fake.set(func() { g.fake.order = g.fake.accept })
			refused.submit("/orders", nil, nil).want(http.StatusOK, "Your order", "$12.50")
			if g.fake.keys[0] != g.fake.keys[1] {
				t.Errorf("tried under %q, then under %q: want the same key", g.fake.keys[0], g.fake.keys[1])
			}
		})
	}
}

// A new quote is charged only after the person has seen it and said yes, and then under the same key.
func TestQuoteChangedNeedsConsent(t *testing.T) {
	g := open(t)
	b := g.browser()
	g.fake.set(func() {
		g.fake.order = func(w http.ResponseWriter, key string, o orderRequest) {
			if o.Currency == "USD" && o.ExpectedTotal == "12.50" {
				g.fake.accept(w, key, o)
				return
			}
			p := problem.New(problem.QuoteChanged, "The total is now 12.50 USD.").With("reason", "currency-unavailable")
			quote := map[string]any{"items": linesDoc(o, "USD"), "total": costs("USD"), "currency": "USD"}
			refuse(p.With("quote", quote))(w, key, o)
		}
	})
	b.putInCart("emma")
	asked := b.get("/cart?currency=EUR").submit("/orders", nil, nil).
		want(http.StatusConflict, "only be taken in US dollars", "Nothing was ordered", "Emma",
			"Agree and order for $12.50")
	if len(g.fake.orders) != 0 {
		t.Fatal("an order was placed without the person's yes")
	}
	asked.submit("/orders", nil, nil).want(http.StatusOK, "Your order", "$12.50")
	if g.fake.keys[0] != g.fake.keys[1] {
		t.Errorf("refused under %q, accepted under %q: want the same key", g.fake.keys[0], g.fake.keys[1])
	}
}

func TestOutOfStockSaysWhich(t *testing.T) {
	g := open(t)
	b := g.browser()
	b.get("/books/emma") // so that the title is known, as it is to whoever has seen the book
	g.fake.set(func() {
		short := []shortage{{"emma", 3, 1}, {"walden", 1, 0}}
		g.fake.order = refuse(problem.New(problem.OutOfStock, "Short.").With("short", short))
	})
	refused := b.putInCart("emma", "walden").submit("/orders", nil, nil)
	refused.want(http.StatusConflict, "Of Emma only one copy is left.", "Walden is sold out.")
	b.get("/cart").want(http.StatusOK, "Cart (2)")
}

// A page that is older than the cart does not order what its reader never saw.
func TestOrderOfAnOlderCart(t *testing.T) {
	g := open(t)
	b := g.browser()
	older := b.putInCart("emma")
	b.putInCart("walden")
	older.submit("/orders", nil, nil).want(http.StatusBadRequest, "Your cart has changed", "nothing was ordered")
	if len(g.fake.keys) != 0 {
		t.Error("checkout was asked nonetheless")
	}
}

// A timeout leaves it open whether the order was taken; the page says so, and keeps the means to find out.
func TestTimeoutOfAnOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		hurt func(*fakeShop)
		says string
	}{
		{"cut off", func(f *fakeShop) {
			f.order = func(http.ResponseWriter, string, orderRequest) { panic(http.ErrAbortHandler) }
		}, "could not learn whether"},
		{"nobody there", func(f *fakeShop) {
			f.checkout.Listener.Close()
			f.checkout.CloseClientConnections()
		}, "not being taken just now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t)
			cart := g.browser().putInCart("emma")
			g.fake.set(func() { c.hurt(g.fake) })
			cart.submit("/orders", nil, nil).want(http.StatusServiceUnavailable, c.says, "Your cart is safe")
		})
	}
}

// A book that the shop has no more keeps nobody from the rest.
func TestBookGoneFromTheShop(t *testing.T) {
	g := open(t)
	b := g.browser()
	cart := b.putInCart("emma", "never-heard-of").want(http.StatusOK, "The shop has it no more", "Never heard of")
	for n := range cart.root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "form" && attr(n, "action") == "/orders" {
			t.Error("a cart with a book that cannot be had can be ordered")
		}
	}
	cart.submit("/cart", url.Values{"action": {"remove"}, "book": {"never-heard-of"}}, nil).
		submit("/orders", nil, nil).want(http.StatusOK, "Your order")
}
