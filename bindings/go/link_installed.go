//go:build cgo && !forge_x402_checkout

package forgex402

// #cgo pkg-config: forge_x402
import "C"
