package schema

import "math"

var inf = math.Inf(1)
