module example.com/forge-x402/benches/side_by_side/go

go 1.24

require example.com/forge-x402/bindings/go v0.0.0

replace example.com/forge-x402/bindings/go => ../../../bindings/go
