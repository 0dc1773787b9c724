package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/images"
)

type imageGCQuestion struct {
	Capacity  *uint64 `json:"capacity"`
	Available *uint64 `json:"available"`
	High      int     `json:"high"`
	Low       int     `json:"low"`
	Images    []int64 `json:"images"` // bytes each, none in use
}

type imageGCAnswer struct {
	Error string `json:"error"`
	Event string `json:"event"` // type, reason and message
	// What the run logged where usage is over the high threshold.
	Usage  *int   `json:"usage"`
	Wanted *int64 `json:"wanted"`
	Freed  int64  `json:"freed"`
}

// imageGC answers with what one run of the image GC manager does on a node with these images.
func imageGC(asked imageGCQuestion) (imageGCAnswer, error) {
	runtime := &imageStore{}
	for number, size := range asked.Images {
		runtime.images = append(runtime.images, container.Image{ID: fmt.Sprint(number), Size: size})
	}
	events := record.NewFakeRecorder(10)
	policy := images.ImageGCPolicy{HighThresholdPercent: asked.High, LowThresholdPercent: asked.Low}
	file := imageFs{&stats.FsStats{CapacityBytes: asked.Capacity, AvailableBytes: asked.Available}}
	node := &v1.ObjectReference{}
	manager, err := images.NewImageGCManager(runtime, file, nil, events, node, policy, noop.NewTracerProvider())
	if err != nil {
		return imageGCAnswer{Error: err.Error()}, nil
	}
	var answer imageGCAnswer
	ctx := klog.NewContext(context.Background(), logr.New(&gcLog{answer: &answer}))
	if err := manager.GarbageCollect(ctx, time.Now()); err != nil {
		answer.Error = err.Error()
	}
	answer.Freed = runtime.freed
	select {
	case answer.Event = <-events.Events:
	default:
	}
	return answer, nil
}

// imageStore is a container runtime that has images and no pods.
type imageStore struct {
	container.Runtime
	images []container.Image
	freed  int64
}

func (s *imageStore) ListImages(context.Context) ([]container.Image, error) { return s.images, nil }

func (s *imageStore) GetPods(context.Context, bool) ([]*container.Pod, error) { return nil, nil }

func (s *imageStore) RemoveImage(_ context.Context, image container.ImageSpec) error {
	for _, each := range s.images {
		if each.ID == image.Image {
			s.freed += each.Size
		}
	}
	return nil
}

type imageFs struct{ stats *stats.FsStats }

func (f imageFs) ImageFsStats(context.Context) (*stats.FsStats, *stats.FsStats, error) {
	return f.stats, f.stats, nil
}

// gcLog takes the numbers out of the line that the manager logs before it frees space.
type gcLog struct{ answer *imageGCAnswer }

func (l *gcLog) Init(logr.RuntimeInfo)          {}
func (l *gcLog) Enabled(int) bool               { return true }
func (l *gcLog) Error(error, string, ...any)    {}
func (l *gcLog) WithValues(...any) logr.LogSink { return l }
func (l *gcLog) WithName(string) logr.LogSink   { return l }
func (l *gcLog) Info(_ int, _ string, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		switch value := pairs[i+1].(type) {
		case int:
			if pairs[i] == "usage" {
				l.answer.Usage = &value
			}
		case int64:
			if pairs[i] == "amountToFree" {
				l.answer.Wanted = &value
			}
		}
	}
}
