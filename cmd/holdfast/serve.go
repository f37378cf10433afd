package main

import (
	"context"
	"fmt"
	"net/http"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/services/catalogue"
	"example.com/holdfast/services/checkout"
	"example.com/holdfast/services/currency"
	"example.com/holdfast/services/gateway"
	"example.com/holdfast/services/recommendations"
)

// serveCommand runs one service in this process.
type serveCommand struct {
	Gateway         serveGateway         `cmd:"" help:"The shop itself: pages and /api/v1. Asks catalogue and checkout."`
	Catalogue       serveCatalogue       `cmd:"" help:"Books and prices. Asks recommendations and currency."`
	Recommendations serveRecommendations `cmd:"" help:"What readers of a book also bought. Asks nobody; optional."`
	Checkout        serveCheckout        `cmd:"" help:"Stock and orders. Asks catalogue and currency."`
	Currency        serveCurrency        `cmd:"" help:"Exchange rates. Asks nobody."`
}

type (
	serveGateway struct {
		gateway.Config `embed:""`
	}
	serveCatalogue struct {
		catalogue.Config `embed:""`
	}
	serveRecommendations struct {
		recommendations.Config `embed:""`
	}
	serveCheckout struct {
		checkout.Config `embed:""`
	}
	serveCurrency struct {
		currency.Config `embed:""`
	}
)

func (c *serveGateway) Run(ctx context.Context) error {
	return serve(ctx, "gateway", c.Config.Config, func(ch *service.Chassis) (http.Handler, error) {
		return gateway.New(c.Config, ch)
	})
}

func (c *serveCatalogue) Run(ctx context.Context) error {
	return serve(ctx, "catalogue", c.Config.Config, func(ch *service.Chassis) (http.Handler, error) {
		return catalogue.New(c.Config, ch)
	})
}

func (c *serveRecommendations) Run(ctx context.Context) error {
	return serve(ctx, "recommendations", c.Config.Config, func(ch *service.Chassis) (http.Handler, error) {
		return recommendations.New(c.Config, ch)
	})
}

func (c *serveCheckout) Run(ctx context.Context) error {
	return serve(ctx, "checkout", c.Config.Config, func(ch *service.Chassis) (http.Handler, error) {
		return checkout.New(c.Config, ch)
	})
}

func (c *serveCurrency) Run(ctx context.Context) error {
	return serve(ctx, "currency", c.Config.Config, func(ch *service.Chassis) (http.Handler, error) {
		return currency.New(c.Config, ch)
	})
}

// serve runs a service on the chassis until ctx ends.
func serve(
	ctx context.Context, name string, cfg service.Config, build func(*service.Chassis) (http.Handler, error),
) error {
	chassis, err := service.New(name, cfg)
	if err != nil {
		return err
	}
	handler, err := build(chassis)
	if err != nil {
		return fmt.Errorf("%s cannot start: %w", name, err)
	}
	return chassis.Run(ctx, handler)
}
