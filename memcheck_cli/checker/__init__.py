"""SGLang's pool checker re-implemented as pure functions, by release."""
