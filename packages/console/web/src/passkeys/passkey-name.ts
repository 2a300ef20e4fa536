/** A name for a passkey that this browser creates, which its owner can change: "Chrome on Windows". */
export function suggestPasskeyName(agent: string = navigator.userAgent): string {
  const browser =
    [
      ['Edg', 'Edge'],
      ['OPR', 'Opera'],
      ['Firefox', 'Firefox'],
      ['Chrom', 'Chrome'],
      ['Safari', 'Safari'],
    ].find(([mark = '']) => agent.includes(mark))?.[1] ?? 'Browser';
  const system = [
    ['iPhone', 'iPhone'],
    ['iPad', 'iPad'],
    ['Android', 'Android'],
    ['Windows', 'Windows'],
    ['Mac OS', 'Mac'],
    ['CrOS', 'ChromeOS'],
    ['Linux', 'Linux'],
  ].find(([mark = '']) => agent.includes(mark))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** The name that a person has entered for their passkey; a suggestion if they have cleared the field. */
export function passkeyNameIn(form: HTMLFormElement): string {
  return String(new FormData(form).get('name')).trim() || suggestPasskeyName();
}
