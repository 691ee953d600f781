package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/spec"
)

// Every case of a memspec.yaml, judged.
func ExampleCheck() {
	cases, err := spec.Load("../examples/gotest/memspec.yaml")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range cases {
		v, err := engine.Check(context.Background(), c)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Name, v.Outcome)
	}
	// Output:
	// resnet50[B=1] pass
	// resnet50[B=8] pass
	// resnet50[B=32] pass
}

// What a case takes, without judging it.
func ExampleEstimate() {
	cases, err := spec.Load("../examples/cli/memspec.yaml")
	if err != nil {
		log.Fatal(err)
	}
	r, err := engine.Estimate(context.Background(), cases[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Weights, "of weights,", r.Peak.Reserved, "reserved,", r.Quality)
	// Output: 9.8 MiB of weights, 28.0 MiB reserved, estimate
}
