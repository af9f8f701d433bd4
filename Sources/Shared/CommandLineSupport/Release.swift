/// The release of every program and every package.
package enum Release {
  package static let version = "0.1.0"
}
