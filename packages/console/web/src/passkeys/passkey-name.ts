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
