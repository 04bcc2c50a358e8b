// Package config reads Pointsman's one configuration document.
//
// [Parse] turns JSON into a [Document], the typed form of every key, and a list
// of [Finding] values: each error and each warning with the path of the key and
// its line and column. Everything that is wrong is reported at once, and a
// document with one error yields no [Document] at all, so that nothing is ever
// half-loaded. [Document.Spec] gives what [farms.Build] compiles.
//
// The work goes in four steps, each in files of its own:
//
//   - scan.go reads JSON into a tree of nodes that know where they stand; a
//     file that is not JSON ends here, with a line and a column.
//   - bind.go and values.go fill the structs from the tree, by the structs'
//     tags. No key is written anywhere but in its tag.
//   - core.go, admin.go, redirection.go, farms.go, servers.go with serverapi.go,
//     locations.go, probe.go, archive.go with dialect.go, steering.go with
//     pathway.go and clone.go, alarms.go and log.go hold a section each: its keys, whose
//     comments are the manual, and what must hold between them.
//   - warnings.go and coverage.go look at a document without errors the way an
//     operator would: what is allowed and yet probably not meant.
//
// The tags of a field are json (the key), default, limits (of a number, of a
// string's bytes, of an array's or object's entries), enum (the allowed words),
// smartmedia (the key is SmartMEDIA's, with its name and unit), single (a lone
// string counts as an array of one) and prototype (the field that holds the
// defaults of an array's entries). docs/configuration.md is made from them and
// from the comments.
package config
