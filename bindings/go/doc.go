// Package forgex402 embeds forge-x402 in net/http servers: it tells agents how to rate a paid call, and the merchant what
// happened. It stands in front of the payment middleware and changes only what it adds to.
//
//	engine, err := forgex402.Open(forgex402.Options{APIKeyFile: "/run/secrets/forge", PublicURL: "https://api.example.com"})
//	if err != nil {
//		log.Fatal(err) // only with Strict: true
//	}
//	defer engine.Close(context.Background())
//	http.ListenAndServe(":8080", engine.Middleware(router))
//
// The work is done by libforge_x402 through cgo. The package links the installed library, which pkg-config must find; with
// the build tag forge_x402_checkout it links target/release of the repository it lies in. With CGO_ENABLED=0 it compiles
// to a pass-through: Open warns once and Middleware hands every request on (with Strict: true, Open fails).
package forgex402
