/**
 * Removes addresses of the operator's network from another system's text before tenants read it: URLs, IPv4 and IPv6
 * addresses, names with a port, and the name after a resolver code (`ENOTFOUND db.internal`). @returns at most 5,000
 * characters
 */
export function withoutAddresses(text: string): string {
  return patterns.reduce((told, pattern) => told.replace(pattern, '[address]'), text.slice(0, charactersMax));
}

const charactersMax = 5000;

const patterns = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi,
  /(?<=\b(?:ENOTFOUND|EAI_[A-Z]{1,10}|ECONN[A-Z]{1,10}|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT) )[^\s"',;]+/g,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f:.]{2,45}(?:%\w{1,15})?\](?::\d{1,5})?/gi,
  /(?<![\w:.])(?:(?=[0-9a-f:]{0,37}::)[0-9a-f:]{2,39}|(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4})(?![\w:])/gi,
  /\b[a-z0-9](?:[a-z0-9-]{0,62}\.){1,10}[a-z][a-z0-9-]{0,62}:\d{1,5}\b/gi,
  /\blocalhost:\d{1,5}\b/gi,
];
