// Receive Leadsman's alerts by webhook; act on none that is forged, and on none twice (docs/alerts.md#webhook).
//
//	WEBHOOK_SECRET=... go run examples/webhook_receiver.go [PORT]
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"
)

const (
	window     = 300 * time.Second
	limitBytes = 1 << 20
)

var signature = regexp.MustCompile(`^t=([0-9]{1,12}),v1=([0-9a-f]{64})$`)

// genuine gives the digest of a request that Leadsman signed within the window, and "" for any other.
func genuine(secret []byte, header string, body []byte, now time.Time) string {
	found := signature.FindStringSubmatch(header)
	if found == nil {
		return ""
	}
	seconds, _ := strconv.ParseInt(found[1], 10, 64)
	if now.Sub(time.Unix(seconds, 0)).Abs() > window {
		return ""
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(found[1] + "."))
	mac.Write(body)
	given, _ := hex.DecodeString(found[2])
	if !hmac.Equal(mac.Sum(nil), given) { // in constant time, unlike ==
		return ""
	}
	return found[2]
}

type alert struct {
	Status      string            `json:"status"`
	Fingerprint string            `json:"fingerprint"`
	StartsAt    string            `json:"startsAt"`
	Labels      map[string]string `json:"labels"`
}

type receiver struct {
	secret []byte
	lock   sync.Mutex
	seen   map[string]time.Time // digests of the window: within it a replay has a valid signature
	stands map[string]string    // by fingerprint
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, limitBytes))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	now := time.Now()
	digest := genuine(r.secret, request.Header.Get("X-Leadsman-Signature"), body, now)
	if digest == "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for old, at := range r.seen {
		if now.Sub(at) > 2*window {
			delete(r.seen, old)
		}
	}
	if _, replayed := r.seen[digest]; !replayed {
		r.seen[digest] = now
		var news alert
		if err := json.Unmarshal(body, &news); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.act(news)
	}
	w.WriteHeader(http.StatusNoContent)
}

// act once for each change: a message that was sent again, later, has another signature.
func (r *receiver) act(news alert) {
	change := news.Status + " " + news.StartsAt
	if r.stands[news.Fingerprint] != change {
		r.stands[news.Fingerprint] = change
		fmt.Println(news.Status, news.Labels["alertname"])
	}
}

func main() {
	port := "8000"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("set WEBHOOK_SECRET to Leadsman's alerts.webhook_secret")
	}
	handler := &receiver{secret: []byte(secret), seen: map[string]time.Time{}, stands: map[string]string{}}
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: handler, ReadTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
