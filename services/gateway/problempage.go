package gateway

import (
	"net/http"
	"strings"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

type problemPage struct {
	Heading, Detail string
	Errors          []problem.FieldError
	RequestID       string
	Safe            bool // there is something in the cart, and it stays there
}

// problemPage says what went wrong and what to do, in the words of the problem document that held has kept.
func (s *Service) problemPage(w http.ResponseWriter, r *http.Request, held *problemHolder) {
	var p problem.Problem
	if err := p.UnmarshalJSON(held.doc.Bytes()); err != nil {
		p = *problem.New(problem.Internal, "Something broke on our side. It has been noted.")
	}
	v, _ := s.visitor(w, r) // what is wrong with the request is said already
	page := problemPage{
		Heading: p.Title, Detail: p.Detail,
		Errors: extra[[]problem.FieldError](&p, "errors"), RequestID: service.RequestID(r.Context()),
		Safe: held.status >= http.StatusInternalServerError && len(v.cart.Lines) > 0,
	}
	if len(page.Errors) == 1 && strings.Contains(page.Detail, page.Errors[0].Message) {
		page.Errors = nil // said already
	}
	if err := s.show(w, r, held.status, frameOf(v, p.Title), s.page("problem", page)); err != nil {
		http.Error(w, p.Title, http.StatusInternalServerError)
	}
}
