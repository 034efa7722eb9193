// The same as c/source_of.c: source_of convert|lookup|find|list FILE ...
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"example.org/gsym"
)

func printFrame(frame gsym.Frame) {
	fmt.Printf("  %s+%#x", frame.Function, frame.Offset)
	if frame.Filename != "" {
		slash := "/"
		if frame.Directory == "" {
			slash = ""
		}
		fmt.Printf(" %s%s%s:%d", frame.Directory, slash, frame.Filename, frame.Line)
	}
	if frame.Inlined {
		fmt.Print(" (inlined)")
	}
	fmt.Println()
}

func printSymbols(symbols []gsym.Symbol, err error) error {
	for _, symbol := range symbols {
		fmt.Printf("%#x %d %s\n", symbol.Address, symbol.Size, symbol.Name)
	}
	return err
}

func lookUp(file *gsym.File, word string) error {
	address, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 64)
	if err != nil {
		return err
	}
	frames, err := file.Lookup(address)
	if err != nil {
		return err
	}
	fmt.Printf("%#x\n", address)
	if len(frames) == 0 {
		fmt.Println("  ??")
	}
	for _, frame := range frames {
		printFrame(frame)
	}
	return nil
}

func run(words []string) error {
	if len(words) < 2 {
		return errors.New("usage: source_of convert|lookup|find|list FILE ...")
	}
	verb, path, rest := words[0], words[1], words[2:]
	if verb == "convert" && len(rest) == 1 {
		report, err := gsym.Convert(path, rest[0])
		if err == nil {
			fmt.Printf("%d functions, %d bytes\n", report.Functions, report.FileSize)
		}
		return err
	}
	file, err := gsym.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for entry := uint32(0); verb == "list" && err == nil && entry < file.EntryCount(); entry++ {
		err = printSymbols(file.Symbols(entry))
	}
	for i := 0; i < len(rest) && err == nil; i++ {
		if verb == "find" {
			err = printSymbols(file.Find(rest[i]))
		} else {
			err = lookUp(file, rest[i])
		}
	}
	return err
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "source_of:", err)
		os.Exit(1)
	}
}
