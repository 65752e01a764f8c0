package main

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/gen/schemadoc"
)

// What the pages say around the descriptions, in two languages.
//
//go:embed doc-words.yaml doc-ru-words.yaml
var wordFiles embed.FS

type words struct {
	Title    string            `json:"title"`
	Intro    string            `json:"intro"`
	Columns  []string          `json:"columns"`
	Types    map[string]string `json:"types"`
	ListOf   string            `json:"listOf"`
	Required string            `json:"required"`
	SameAs   string            `json:"sameAs"`
}

// page renders docs/settings.md or its Russian twin.
func page(name string, settings *schemadoc.Node) ([]byte, error) {
	file := "doc-words.yaml"
	if strings.HasSuffix(name, ".ru.md") {
		file = "doc-ru-words.yaml"
	}
	data, err := wordFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := words{}
	if err := yaml.UnmarshalStrict(data, &w); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p := &pageWriter{words: w, anchors: map[string]string{}}
	fmt.Fprintf(p, "# %s\n\n%s", w.Title, w.Intro)
	for _, n := range settings.Children {
		fmt.Fprintf(p, "\n## %s\n\n", n.Name)
		if n.Alias {
			fmt.Fprintf(p, w.SameAs+"\n\n", p.anchors[n.Anchor])
		}
		fmt.Fprintf(p, "%s\n%s", strings.TrimSpace(n.Description), p.oneLine(n))
		rows := p.rows(n, n.Name)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(p, "\n| %s |\n|%s\n", strings.Join(w.Columns, " | "), strings.Repeat("---|", len(w.Columns)))
		for _, r := range rows {
			fmt.Fprintf(p, "| %s |\n", strings.Join(r, " | "))
		}
	}
	return p.Bytes(), nil
}

type pageWriter struct {
	bytes.Buffer
	words words
	// anchors are the paths where the parts that occur twice stand in full.
	anchors map[string]string
}

// oneLine is type and default of a setting that has no table.
func (p *pageWriter) oneLine(n *schemadoc.Node) string {
	if n.Type == "object" || n.Type == "array" {
		return ""
	}
	return fmt.Sprintf("\n%s: %s. %s: `%s`.\n", p.words.Columns[1], p.typeOf(n), p.words.Columns[2], n.Default)
}

// rows are the settings below n.
func (p *pageWriter) rows(n *schemadoc.Node, path string) [][]string {
	var out [][]string
	for _, c := range n.Children {
		at := path + "." + c.Name
		if c.Name == "[]" {
			at = path + "[]"
		}
		meaning := cell(c.Description)
		if c.Required {
			meaning = p.words.Required + " " + meaning
		}
		full, seen := p.anchors[c.Anchor]
		repeated := c.Alias && seen && len(c.Children) > 0
		if repeated {
			meaning = strings.TrimSpace(meaning + " " + fmt.Sprintf(p.words.SameAs, full))
		} else if c.Anchor != "" {
			p.anchors[c.Anchor] = at
		}
		if c.Description != "" || repeated {
			out = append(out, []string{"`" + at + "`", p.typeOf(c), code(c.Default), meaning})
		}
		if !repeated {
			out = append(out, p.rows(c, at)...)
		}
	}
	return out
}

func (p *pageWriter) typeOf(n *schemadoc.Node) string {
	if len(n.Enum) > 0 {
		return "`" + strings.Join(n.Enum, "`, `") + "`"
	}
	if n.Type == "array" && len(n.Children) == 1 && n.Children[0].Type != "object" {
		return fmt.Sprintf(p.words.ListOf, p.typeOf(n.Children[0]))
	}
	return p.words.Types[n.Type]
}

func code(s string) string {
	if s == "" || s == "{}" || s == "[]" || s == `""` {
		return ""
	}
	return "`" + s + "`"
}

// cell puts a description into one cell of a table: paragraphs and list items become lines.
func cell(s string) string {
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(s), "\n") {
		if l == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(l, "- "); ok {
			l = "• " + rest
		}
		lines = append(lines, strings.ReplaceAll(l, "|", `\|`))
	}
	return strings.Join(lines, "<br>")
}
