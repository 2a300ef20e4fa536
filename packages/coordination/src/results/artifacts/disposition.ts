/** Types that a browser would run; every other one is only shown. */
const active =
  /^(?:text\/html|application\/xhtml\+xml|image\/svg\+xml|(?:text|application)\/xml|.+\+xml|.+\/(?:x-)?(?:java|ecma)script)$/;

const nameCharactersMax = 255;

/**
 * The header under which bytes are answered: active types are saved, not shown. The name is written in `filename*`, where
 * everything but letters, digits and a few marks is escaped, so nothing of it can end the header.
 */
export function contentDisposition(name: string, mediaType: string): string {
  const [essence = ''] = mediaType.split(';', 1);
  const kind = active.test(essence.trim().toLowerCase()) ? 'attachment' : 'inline';
  // By code points: a cut inside of a surrogate pair could not be encoded.
  const shown = Array.from(name.toWellFormed()).slice(0, nameCharactersMax).join('');
  return `${kind}; filename*=UTF-8''${encodeURIComponent(shown).replaceAll(/['()*]/g, escaped)}`;
}

function escaped(mark: string): string {
  return `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;
}
