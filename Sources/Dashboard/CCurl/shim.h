#pragma once
#include <curl/curl.h>

// An enumerator of curl_usessl in Debian 12 and 13; in libcurl 8.23 a number.
static const long curl_usessl_all = CURLUSESSL_ALL;

// Swift cannot call a C function with variable arguments, so there is one wrapper per option type.
static inline CURLcode curl_set_text(CURL *handle, CURLoption option, const char *text) {
  return curl_easy_setopt(handle, option, text);
}
static inline CURLcode curl_set_number(CURL *handle, CURLoption option, long number) {
  return curl_easy_setopt(handle, option, number);
}
static inline CURLcode curl_set_list(CURL *handle, CURLoption option, struct curl_slist *list) {
  return curl_easy_setopt(handle, option, list);
}
static inline CURLcode curl_set_pointer(CURL *handle, CURLoption option, void *pointer) {
  return curl_easy_setopt(handle, option, pointer);
}
typedef size_t (*curl_bytes_function)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode curl_set_bytes_function(
    CURL *handle, CURLoption option, curl_bytes_function function) {
  return curl_easy_setopt(handle, option, function);
}
static inline CURLcode curl_set_progress_function(CURL *handle, curl_xferinfo_callback function) {
  return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
}
static inline long curl_number(CURL *handle, CURLINFO info) {
  long number = 0;
  curl_easy_getinfo(handle, info, &number);
  return number;
}
