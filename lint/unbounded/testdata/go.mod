// Code to judge: a package for each rule, and stand-ins for the libraries that the rules know.
module example.com/shop

go 1.26.0

require (
	example.com/other v0.0.0
	github.com/jackc/pgx/v5 v5.0.0
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.0.0
	golang.org/x/oauth2 v0.0.0
	google.golang.org/grpc v1.0.0
)

replace (
	example.com/other => ./stubs/other
	github.com/jackc/pgx/v5 => ./stubs/pgx
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp => ./stubs/otelhttp
	golang.org/x/oauth2 => ./stubs/oauth2
	google.golang.org/grpc => ./stubs/grpc
)
