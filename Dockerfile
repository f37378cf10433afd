# One image, five services: the command names the service.
FROM golang:1.26 AS build
WORKDIR /src
# The modules are a layer of their own: they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /holdfast ./cmd/holdfast

# Nothing but the binary: no shell, no package manager, nothing to patch. The shop calls nobody outside
# unless RATES_URL is set; the certificates are for that.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /holdfast /holdfast
USER 65532:65532
ENTRYPOINT ["/holdfast"]
CMD ["--help"]
