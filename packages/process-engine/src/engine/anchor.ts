const anchorForm = /^[A-Za-z][A-Za-z0-9_.-]{0,99}:\S{1,400}$/;

/** Whether a string is an anchor in memory: `type:key`. */
export function isAnchor(text: string): boolean {
  return anchorForm.test(text);
}
