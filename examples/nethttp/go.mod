module example.com/forge-x402/examples/nethttp

go 1.24

require example.com/forge-x402/bindings/go v0.0.0

replace example.com/forge-x402/bindings/go => ../../bindings/go
