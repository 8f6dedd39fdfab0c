"""The keyword arguments of the clients, so that type checkers find a wrong name or type before a run.

Made by `python -m tools.type_keywords` from the settings' classes; do not edit. Imported by type checkers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict


class AdminKeywords(TypedDict, total=False):
    """Settings of :class:`AdminConfig`."""

    api_version: object
    bootstrap_servers: str | Sequence[str] | None
    client_id: str | None
    connections_max_idle_ms: int | None
    default_api_timeout_ms: int | None
    loop: object
    metadata_max_age_ms: int | None
    reconnect_backoff_max_ms: int | None
    reconnect_backoff_ms: int | None
    request_timeout_ms: int | None
    retry_backoff_max_ms: int | None
    retry_backoff_ms: int | None
    sasl_aws_region: str | None
    sasl_client_callback_handler_class: str | None
    sasl_jaas_config: str | None
    sasl_kerberos_domain_name: str | None
    sasl_kerberos_service_name: str | None
    sasl_login_callback_handler_class: str | None
    sasl_login_connect_timeout_ms: int | None
    sasl_login_read_timeout_ms: int | None
    sasl_login_refresh_window_factor: float | None
    sasl_login_retry_backoff_max_ms: int | None
    sasl_login_retry_backoff_ms: int | None
    sasl_mechanism: str | None
    sasl_oauth_token_provider: Any
    sasl_oauthbearer_client_id: str | None
    sasl_oauthbearer_client_secret: str | None
    sasl_oauthbearer_header_urlencode: bool | None
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_token_provider: str | None
    sasl_plain_password: str | None
    sasl_plain_username: str | None
    security_protocol: str | None
    socket_connection_setup_timeout_max_ms: int | None
    socket_connection_setup_timeout_ms: int | None
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_check_hostname: bool | None
    ssl_enabled_protocols: Sequence[str] | None
    ssl_endpoint_identification_algorithm: str | None
    ssl_key_password: str | None
    ssl_keyfile: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_keystore_key: str | None
    ssl_keystore_location: str | None
    ssl_keystore_password: str | None
    ssl_keystore_type: str | None
    ssl_truststore_certificates: str | None
    ssl_truststore_location: str | None
    ssl_truststore_password: str | None
    ssl_truststore_type: str | None


class ConsumerKeywords(TypedDict, total=False):
    """Settings of :class:`ConsumerConfig`."""

    allow_auto_create_topics: bool | None
    api_version: object
    auto_commit_interval_ms: int | None
    auto_offset_reset: str | None
    bootstrap_servers: str | Sequence[str] | None
    check_crcs: bool | None
    client_id: str | None
    client_rack: str | None
    connections_max_idle_ms: int | None
    consumer_timeout_ms: int | None
    default_api_timeout_ms: int | None
    enable_auto_commit: bool | None
    exclude_internal_topics: bool | None
    fetch_max_bytes: int | None
    fetch_max_wait_ms: int | None
    fetch_min_bytes: int | None
    group_id: str | None
    group_instance_id: str | None
    group_protocol: str | None
    group_remote_assignor: str | None
    heartbeat_interval_ms: int | None
    isolation_level: str | None
    key_deserializer_class: str | None
    loop: object
    max_partition_fetch_bytes: int | None
    max_poll_interval_ms: int | None
    max_poll_records: int | None
    metadata_max_age_ms: int | None
    partition_assignment_strategy: Sequence[Any] | None
    rebalance_timeout_ms: int | None
    reconnect_backoff_max_ms: int | None
    reconnect_backoff_ms: int | None
    request_timeout_ms: int | None
    retry_backoff_max_ms: int | None
    retry_backoff_ms: int | None
    sasl_aws_region: str | None
    sasl_client_callback_handler_class: str | None
    sasl_jaas_config: str | None
    sasl_kerberos_domain_name: str | None
    sasl_kerberos_service_name: str | None
    sasl_login_callback_handler_class: str | None
    sasl_login_connect_timeout_ms: int | None
    sasl_login_read_timeout_ms: int | None
    sasl_login_refresh_window_factor: float | None
    sasl_login_retry_backoff_max_ms: int | None
    sasl_login_retry_backoff_ms: int | None
    sasl_mechanism: str | None
    sasl_oauth_token_provider: Any
    sasl_oauthbearer_client_id: str | None
    sasl_oauthbearer_client_secret: str | None
    sasl_oauthbearer_header_urlencode: bool | None
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_token_provider: str | None
    sasl_plain_password: str | None
    sasl_plain_username: str | None
    security_protocol: str | None
    session_timeout_ms: int | None
    socket_connection_setup_timeout_max_ms: int | None
    socket_connection_setup_timeout_ms: int | None
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_check_hostname: bool | None
    ssl_enabled_protocols: Sequence[str] | None
    ssl_endpoint_identification_algorithm: str | None
    ssl_key_password: str | None
    ssl_keyfile: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_keystore_key: str | None
    ssl_keystore_location: str | None
    ssl_keystore_password: str | None
    ssl_keystore_type: str | None
    ssl_truststore_certificates: str | None
    ssl_truststore_location: str | None
    ssl_truststore_password: str | None
    ssl_truststore_type: str | None
    value_deserializer_class: str | None


class ProducerKeywords(TypedDict, total=False):
    """Settings of :class:`ProducerConfig`."""

    acks: int | str | None
    api_version: object
    bootstrap_servers: str | Sequence[str] | None
    buffer_memory: int | None
    client_id: str | None
    compression_gzip_level: int | None
    compression_lz4_level: int | None
    compression_type: str | None
    compression_zstd_level: int | None
    connections_max_idle_ms: int | None
    delivery_timeout_ms: int | None
    enable_idempotence: bool | None
    key_serializer_class: str | None
    linger_ms: float | None
    loop: object
    max_batch_size: int | None
    max_block_ms: int | None
    max_in_flight_requests_per_connection: int | None
    max_request_size: int | None
    metadata_max_age_ms: int | None
    partitioner_adaptive_partitioning_enable: bool | None
    partitioner_availability_timeout_ms: int | None
    partitioner_class: str | None
    partitioner_ignore_keys: bool | None
    reconnect_backoff_max_ms: int | None
    reconnect_backoff_ms: int | None
    request_timeout_ms: int | None
    retries: int | None
    retry_backoff_max_ms: int | None
    retry_backoff_ms: int | None
    sasl_aws_region: str | None
    sasl_client_callback_handler_class: str | None
    sasl_jaas_config: str | None
    sasl_kerberos_domain_name: str | None
    sasl_kerberos_service_name: str | None
    sasl_login_callback_handler_class: str | None
    sasl_login_connect_timeout_ms: int | None
    sasl_login_read_timeout_ms: int | None
    sasl_login_refresh_window_factor: float | None
    sasl_login_retry_backoff_max_ms: int | None
    sasl_login_retry_backoff_ms: int | None
    sasl_mechanism: str | None
    sasl_oauth_token_provider: Any
    sasl_oauthbearer_client_id: str | None
    sasl_oauthbearer_client_secret: str | None
    sasl_oauthbearer_header_urlencode: bool | None
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_token_provider: str | None
    sasl_plain_password: str | None
    sasl_plain_username: str | None
    security_protocol: str | None
    socket_connection_setup_timeout_max_ms: int | None
    socket_connection_setup_timeout_ms: int | None
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_check_hostname: bool | None
    ssl_enabled_protocols: Sequence[str] | None
    ssl_endpoint_identification_algorithm: str | None
    ssl_key_password: str | None
    ssl_keyfile: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_keystore_key: str | None
    ssl_keystore_location: str | None
    ssl_keystore_password: str | None
    ssl_keystore_type: str | None
    ssl_truststore_certificates: str | None
    ssl_truststore_location: str | None
    ssl_truststore_password: str | None
    ssl_truststore_type: str | None
    transaction_timeout_ms: int | None
    transactional_id: str | None
    two_phase_commit: bool | None
    value_serializer_class: str | None


__all__ = ["AdminKeywords", "ConsumerKeywords", "ProducerKeywords"]
