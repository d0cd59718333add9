//go:build linux

package main

func probeMain() {}
