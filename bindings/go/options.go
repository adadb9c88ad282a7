package forgex402

import (
	"log/slog"
	"net/http"
	"time"
)

// Options are the options of the engine, the same in every language, and what only a Go host can give. The zero value of a
// field leaves the default in place; booleans whose default is true are pointers, made with [Bool].
type Options struct {
	// The project key, or the path of a file that holds it. One of them is needed.
	APIKey     string `json:"api_key,omitempty"`
	APIKeyFile string `json:"api_key_file,omitempty"`
	// Keys in use before a rotation.
	PreviousAPIKeys []string `json:"previous_api_keys,omitempty"`
	// Where events and ratings go. Without it there is no telemetry and rating routes answer 503.
	BackendURL string `json:"backend_url,omitempty"`
	// Origin agents reach this server at, such as https://api.example.com.
	PublicURL string `json:"public_url,omitempty"`

	Feedback           *bool    `json:"feedback,omitempty"`
	BasePath           string   `json:"base_path,omitempty"`
	Tone               string   `json:"tone,omitempty"`
	BodyLayout         string   `json:"body_layout,omitempty"`
	DescribeChallenges *bool    `json:"describe_challenges,omitempty"`
	ChallengeExtension *bool    `json:"challenge_extension,omitempty"`
	ReceiptExtension   *bool    `json:"receipt_extension,omitempty"`
	InjectBody         *bool    `json:"inject_body,omitempty"`
	RateHint           *bool    `json:"rate_hint,omitempty"`
	InjectText         bool     `json:"inject_text,omitempty"`
	ExtensionSchema    bool     `json:"extension_schema,omitempty"`
	MaxDescription     *int     `json:"max_description,omitempty"`
	RequireSettlement  bool     `json:"require_settlement,omitempty"`
	JSONTypes          []string `json:"json_types,omitempty"`

	// "off", "read" (the default), "ask" or "required".
	AgentContext string `json:"agent_context,omitempty"`
	SearchQuery  *bool  `json:"search_query,omitempty"`
	// false, or an object with paths and document.
	OpenAPI any `json:"openapi,omitempty"`
	// Serve /.well-known/forge-feedback.json.
	Discovery bool `json:"discovery,omitempty"`
	// true, or an object with attempts, min_age_ms, count_private_ips and header.
	Diagnostics        any    `json:"diagnostics,omitempty"`
	ServiceDescription string `json:"service_description,omitempty"`
	ReplayGuard        bool   `json:"replay_guard,omitempty"`
	ReplayWindowS      int    `json:"replay_window_s,omitempty"`
	RateLimitPerMinute int    `json:"rate_limit_per_minute,omitempty"`

	Visits          bool   `json:"visits,omitempty"`
	Telemetry       *bool  `json:"telemetry,omitempty"`
	TTLMs           int64  `json:"ttl_ms,omitempty"`
	FlushIntervalMs int    `json:"flush_interval_ms,omitempty"`
	MaxWaits        int    `json:"max_waits,omitempty"`
	TLSCAFile       string `json:"tls_ca_file,omitempty"`
	Proxy           string `json:"proxy,omitempty"`
	// Open fails on a bad option. Otherwise it warns, and all traffic passes unchanged.
	Strict bool `json:"strict,omitempty"`

	// Warnings go here; nil is slog.Default().
	Logger *slog.Logger `json:"-"`
	// The client's address after your own proxy trust; nil takes the peer of the connection.
	ClientIP func(*http.Request) string `json:"-"`
	// The matched route pattern, asked when the response begins; nil takes Request.Pattern, which http.ServeMux sets.
	Route func(*http.Request) string `json:"-"`
}

// Bool is for options whose default is true: InjectBody: forgex402.Bool(false).
func Bool(value bool) *bool { return &value }

// Stats are the counts of one engine in this process.
type Stats struct {
	// Whether the thread that posts events runs.
	WorkerRunning bool
	// Events waiting now, taken by the backend, and lost.
	Queued, Sent, Dropped uint64
	// Posts that failed; most are tried again.
	FailedPosts uint64
	// Defects contained: the traffic passed unchanged.
	InternalErrors uint64
	// Ids made, challenges that gained the ask, things left alone.
	Minted, Described, Skipped uint64
}

// How long Close may take if its context has no deadline.
const closeLimit = 5 * time.Second

func (o *Options) logger() *slog.Logger {
	if o.Logger != nil {
		return o.Logger
	}
	return slog.Default()
}
