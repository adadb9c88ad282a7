//go:build cgo

// Package frameworks tests the middleware in front of, and inside of, chi, gin and echo. A module of its own, so that the
// binding has no dependencies.
package frameworks

import (
	"bytes"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	forgex402 "example.com/forge-x402/bindings/go"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/labstack/echo/v4"
)

var (
	payment   = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"payload":{},"accepted":{}}`))
	challenge = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"resource":{"url":"https://api.example.com/weather","description":"Weather."},"accepts":[{"scheme":"exact"}]}`))
)

const weather = `{"sky":"clear"}`

func open(t *testing.T, log io.Writer) *forgex402.Engine {
	t.Helper()
	e, err := forgex402.Open(forgex402.Options{APIKey: "ffk_test_0123456789abcdef", PublicURL: "https://api.example.com", Strict: true,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// check asks a server for what every framework must carry: a challenge, a paid answer, an error, a stream, a free page.
func check(t *testing.T, handler http.Handler) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	ask := func(path string, paid bool) (*http.Response, string) {
		request, _ := http.NewRequest("GET", server.URL+path, nil)
		if paid {
			request.Header.Set("PAYMENT-SIGNATURE", payment)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	if response, body := ask("/weather", false); response.StatusCode != 402 || !asks(response) || body != "{}" {
		t.Error("challenge", response.StatusCode, response.Header, body)
	}
	response, body := ask("/weather", true)
	if id := response.Header.Get("Forge-Feedback-Id"); id == "" || !strings.HasPrefix(body, weather[:len(weather)-1]+`,"feedback_id":"`+id+`"`) {
		t.Error("paid", response.Header, body)
	}
	if response, body := ask("/broken", true); response.StatusCode != 500 || response.Header.Get("Forge-Feedback-Id") != "" || strings.Contains(body, "feedback_id") {
		t.Error("broken", response.StatusCode, response.Header, body)
	}
	if response, body := ask("/stream", true); body != "data: 1\n\ndata: 2\n\n" || response.Header.Get("Forge-Feedback-Id") == "" {
		t.Error("stream", response.Header, body)
	}
	if response, body := ask("/weather/free", false); body != weather || response.Header.Get("Forge-Feedback-Id") != "" {
		t.Error("free", response.Header, body)
	}
	if response, body := ask("/feedback", false); response.StatusCode != 200 || !strings.Contains(body, "forge-feedback/0") {
		t.Error("rating form", response.StatusCode, body)
	}
}

func asks(response *http.Response) bool {
	decoded, _ := base64.StdEncoding.DecodeString(response.Header.Get("PAYMENT-REQUIRED"))
	return bytes.Contains(decoded, []byte("please rate this service"))
}

func paywall(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("PAYMENT-SIGNATURE") != "" {
		return false
	}
	w.Header().Set("PAYMENT-REQUIRED", challenge)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(402)
	io.WriteString(w, "{}")
	return true
}

func stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "data: 1\n\n")
	w.(http.Flusher).Flush()
	io.WriteString(w, "data: 2\n\n")
}

func chiRouter(ours ...func(http.Handler) http.Handler) *chi.Mux {
	router := chi.NewRouter()
	router.Use(middleware.Recoverer)
	router.Use(ours...)
	router.Get("/weather", func(w http.ResponseWriter, r *http.Request) {
		if !paywall(w, r) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, weather)
		}
	})
	router.Get("/broken", func(http.ResponseWriter, *http.Request) { panic("broken") })
	router.Get("/stream", func(w http.ResponseWriter, _ *http.Request) { stream(w) })
	router.Get("/weather/{city}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, weather) })
	return router
}

func TestChi(t *testing.T) {
	check(t, open(t, io.Discard).Middleware(chiRouter()))
	check(t, chiRouter(open(t, io.Discard).Middleware))
}

// D12
func TestD12ChiRoutesThatOursHideAreReported(t *testing.T) {
	var said bytes.Buffer
	router := chiRouter()
	router.Post("/feedback", func(http.ResponseWriter, *http.Request) {})
	router.Get("/*", func(http.ResponseWriter, *http.Request) {})
	handler := open(t, &said).Middleware(router)
	for range 2 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/weather", nil))
	}
	if strings.Count(said.String(), "POST /feedback hides a route of yours") != 1 || strings.Count(said.String(), "hides") != 1 {
		t.Error(said.String())
	}
}

func ginRouter(ours ...gin.HandlerFunc) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(500) }))
	router.Use(ours...)
	router.GET("/weather", func(c *gin.Context) {
		if c.GetHeader("PAYMENT-SIGNATURE") == "" {
			c.Header("PAYMENT-REQUIRED", challenge)
			c.JSON(402, gin.H{})
			return
		}
		c.Data(200, "application/json", []byte(weather))
	})
	router.GET("/broken", func(*gin.Context) { panic("broken") })
	router.GET("/stream", func(c *gin.Context) {
		c.Header("Content-Type", "text/event-stream")
		n := 0
		c.Stream(func(w io.Writer) bool { // Asks for CloseNotifier.
			n++
			io.WriteString(w, []string{"", "data: 1\n\n", "data: 2\n\n"}[n])
			return n < 2
		})
	})
	router.GET("/weather/:city", func(c *gin.Context) { c.String(200, weather) })
	return router
}

func TestGin(t *testing.T) {
	check(t, open(t, io.Discard).Middleware(ginRouter()))
}

func echoRouter(ours ...echo.MiddlewareFunc) *echo.Echo {
	router := echo.New()
	router.HTTPErrorHandler = func(err error, c echo.Context) {
		if !c.Response().Committed {
			status := 500
			if said, is := err.(*echo.HTTPError); is {
				status = said.Code
			}
			c.JSON(status, map[string]any{})
		}
	}
	router.Use(ours...)
	router.GET("/weather", func(c echo.Context) error {
		if c.Request().Header.Get("PAYMENT-SIGNATURE") == "" {
			c.Response().Header().Set("PAYMENT-REQUIRED", challenge)
			return c.Blob(402, "application/json", []byte("{}"))
		}
		return c.Blob(200, "application/json", []byte(weather))
	})
	router.GET("/broken", func(echo.Context) error { return io.ErrUnexpectedEOF })
	router.GET("/stream", func(c echo.Context) error { stream(c.Response()); return nil })
	router.GET("/weather/:city", func(c echo.Context) error { return c.String(200, weather) })
	return router
}

func TestEcho(t *testing.T) {
	check(t, open(t, io.Discard).Middleware(echoRouter()))
	// Inside, errors are answered after the middleware has returned.
	inside := open(t, io.Discard).Middleware
	router := echoRouter(echo.WrapMiddleware(inside))
	router.Any("/feedback", func(echo.Context) error { return nil })
	check(t, router)
}
