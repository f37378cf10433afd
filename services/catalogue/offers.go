package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// maxOffers is how many books the header of a page offers.
const maxOffers = 4

// offered are the books that recommendations names as much bought lately, the most bought first.
type offered struct{ suggestions }

// UnmarshalJSON refuses an answer without the list, so that {} counts as a failed call.
func (o *offered) UnmarshalJSON(data []byte) error {
	var answer struct {
		Offers []string `json:"offers"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	if answer.Offers == nil {
		return errors.New("no list of offers")
	}
	o.ids = answer.Offers
	return nil
}

// noOffers is the fallback of an offer.
var noOffers = offered{suggestions{fallback: true}}

// offer asks for what every page offers.
func (s *Service) offer(ctx context.Context) (suggestions, error) {
	path := fmt.Sprintf("/offers?limit=%d", maxOffers)
	answer, err := service.GetJSON(ctx, s.offers, s.recommendationsURL, path, resilience.FallbackTo(noOffers))
	if p := refusal(err); p != nil {
		answer, err = noOffers, tolerate(s.offers, p)
	}
	if err != nil {
		return suggestions{}, fmt.Errorf("asking for offers: %w", err)
	}
	return answer.suggestions, nil
}
