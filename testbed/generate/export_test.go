package generate

// Exponential is exponential, for tests.
var Exponential = exponential
