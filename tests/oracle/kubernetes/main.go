// Kubernetes' own answers. A line of JSON in: the name of an oracle and its question. A line out: the answer.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

var oracles = map[string]func(json.RawMessage) (any, error){
	"admission":      answers(admission),
	"devices":        answers(devices),
	"eviction_order": answers(evictionOrder),
	"fit":            answers(fit),
	"image_gc":       answers(imageGC),
	"node_tree":      answers(nodeTree),
	"placement":      answers(placement),
	"preemption":     answers(preemptionOf),
	"scores":         answers(scores),
	"thresholds":     answers(thresholds),
	"volumes":        answers(volumes),
}

type line struct {
	Oracle   string          `json:"oracle"`
	Question json.RawMessage `json:"question"`
}

func main() {
	klog.SetLogger(logr.Discard())
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		answer, err := asked(lines.Bytes())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(answer))
	}
}

func asked(text []byte) ([]byte, error) {
	var one line
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	oracle, known := oracles[one.Oracle]
	if !known {
		return nil, fmt.Errorf("no oracle is named %q", one.Oracle)
	}
	answer, err := oracle(one.Question)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", one.Oracle, err)
	}
	return json.Marshal(answer)
}

func answers[Question, Answer any](oracle func(Question) (Answer, error)) func(json.RawMessage) (any, error) {
	return func(text json.RawMessage) (any, error) {
		var question Question
		if err := json.Unmarshal(text, &question); err != nil {
			return nil, err
		}
		return oracle(question)
	}
}
