import ConfigurationFiles
import Program

extension KioskConfiguration: ConfigurationFile {
  package static let defaultPath = "/etc/juice-kiosk/kiosk.yaml"
}

typealias ConfigurationOptions = ConfigurationFileOptions<KioskConfiguration>
