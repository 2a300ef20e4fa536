const charactersMax = 2048;
const schemes: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/**
 * The target of a link in an untrusted text: an absolute web address or an e-mail address.
 * @returns undefined for every other scheme, for relative addresses, and for addresses with a user name, which can
 * be mistaken for a host (`https://bank.example@evil.example`)
 */
export function linkTarget(address: string): URL | undefined {
  if (address.length > charactersMax || !/^(?:https?:\/\/|mailto:)[^\s\p{C}]+$/iu.test(address))
    return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !schemes.has(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/**
 * What is shown beside the text of a link: its host or e-mail address, in the form that the browser uses
 * (`xn--…` for other scripts). Nothing if the text is the address itself.
 */
export function noteOfLink(url: URL, text: string): string | undefined {
  const isMail = url.protocol === 'mailto:';
  const place = isMail ? url.pathname : url.host;
  const shown = trimmed(text);
  const addresses = [url.href, url.href.replace(/^(?:https?:\/\/|mailto:)/i, ''), place].map(trimmed);
  return addresses.includes(shown) ? undefined : place;
}

function trimmed(address: string): string {
  return address.trim().replace(/\/$/, '');
}

/**
 * The end of an address in running text. It excludes trailing punctuation and a closing parenthesis without an opening
 * one in the address.
 */
export function endOfAddress(address: string): number {
  let open = 0;
  for (const character of address) open += character === '(' ? 1 : character === ')' ? -1 : 0;
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1] as string;
    if (last === ')' && open < 0) open += 1;
    else if (!/[.,;:!?'"*_~\]}>]/.test(last)) break;
  }
  return end;
}
