/// Which release this is: of every program, and of their packages.
package enum Release {
  package static let version = "0.1.0"
}
