/// The release of all programs and packages.
package enum Release {
  package static let version = "0.1.0"
}
