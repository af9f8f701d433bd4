import JuiceDomain
import MessageBroker

extension BrokerError {
  /// Returns the error in words. Details of the library and of the broker stay in English.
  func text(_ language: Language) -> String {
    let korean =
      switch self {
      case .unreachable(let detail): "브로커에 연결할 수 없어요: \(detail)"
      case .loginRefused(let detail): "브로커가 로그인을 거절했어요(\(detail)). 사용자 이름, 비밀번호, 인증서를 확인해 주세요."
      case .connectionRefused(let detail): "브로커가 연결을 거절했어요: \(detail)"
      case .protocolRefused(let detail):
        "브로커가 이 MQTT 버전을 지원하지 않아요(\(detail)). broker.protocol을 다른 값으로 바꿔 주세요."
      case .subscriptionRefused(let filter): "브로커가 \(filter) 구독을 거절했어요. 이 계정에 ACL로 허용해 주세요."
      case .tls(let detail): "브로커에 안전하게 연결할 수 없어요: \(detail)"
      case .connectionLost(let detail): "브로커와 연결이 끊겼어요: \(detail)"
      case .malformedPacket(let detail): "브로커가 읽을 수 없는 메시지를 보냈어요: \(detail)"
      case .sessionTakenOver: "같은 client id로 다른 프로그램이 연결했어요. 서로 다른 id를 주세요."
      case .publishRefused(let topic, let reason):
        "브로커가 \(topic) 메시지를 거절했어요(\(reason)). 이 계정의 ACL을 확인해 주세요."
      case .cannotPublish(_, let reason): "메시지를 보낼 수 없어요: \(reason)"
      }
    return language(description, korean)
  }
}
