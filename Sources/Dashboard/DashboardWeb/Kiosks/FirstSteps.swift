import JuiceDomain
import MessageBroker

/// The steps to the first kiosk, on the empty list of kiosks.
struct FirstSteps {
  /// The reason why the broker is not connected, or `nil` if it is connected.
  let connectionError: BrokerError?
  /// The lines by which kiosk.yaml names the dashboard's broker.
  let brokerLines: [String]
  let language: Language

  var html: HTML {
    let broker =
      connectionError == nil
      ? language("1. The dashboard is connected to its broker.", "1. 대시보드가 브로커에 연결됐어요.")
      : language(
        "1. The dashboard is not connected to its broker: the reason is above.",
        "1. 대시보드가 브로커에 연결되지 않았어요. 이유는 위에 있어요.")
    let isLocal = brokerLines.contains { $0.hasSuffix(" 127.0.0.1") || $0.hasSuffix(" localhost") }
    let address: HTML? =
      isLocal
      ? """
      <span class="muted">\(language(
        "On another computer, write the address of this one instead.", "다른 컴퓨터에서는 이 컴퓨터의 주소를 적어 주세요."))</span>
      """ : nil
    return """
      <section class="card narrow"><h2>\(language("The first kiosk", "첫 키오스크"))</h2>
      <p><span class="chip \(connectionError == nil ? "good" : "bad")">\(connectionError == nil ? "✓" : "✗")</span> \(broker)</p>
      <p>\(language(
        "2. Write the same broker into the kiosk's kiosk.yaml, and start the kiosk:",
        "2. 키오스크의 kiosk.yaml에 같은 브로커를 적고 키오스크를 시작해 주세요:")) \(address)</p>
      <pre>\(brokerLines.joined(separator: "\n"))</pre>
      <p>\(language(
        "3. Waiting for the first kiosk: it appears here as soon as it is online. If it does not, juice-kiosk check --connect says why.",
        "3. 첫 키오스크를 기다리고 있어요. 온라인이 되면 여기에 나타나요. 나타나지 않으면 juice-kiosk check --connect가 이유를 알려 줘요."))</p>
      </section>
      """
  }
}
