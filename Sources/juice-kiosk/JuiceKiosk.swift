import ArgumentParser
import Logging
import ServiceLifecycle
import Yams

@main struct JuiceKiosk: ParsableCommand {}
