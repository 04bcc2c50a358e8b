// Package status is what the person on call sees: the shape of /status as JSON,
// the pages for browsers, and their live updates.
//
// It draws and sends; it decides nothing and finds out nothing. The redirector
// gathers a [Document] from the views that decisions read and hands it over, so
// that a page, its updates and the JSON say the same. Every page is whole without
// JavaScript: it is rendered here, from templates and files that are part of the
// binary, and refers to nothing outside of it. A page's script only puts newer
// pieces, rendered by the same templates, in the places of older ones, and sends
// the operator's actions.
package status
