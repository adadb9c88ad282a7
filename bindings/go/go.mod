module example.com/forge-x402/bindings/go

go 1.24
