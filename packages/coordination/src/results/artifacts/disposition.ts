/** Types with active content; a browser displays all other types without running anything. */
const active =
  /^(?:text\/html|application\/xhtml\+xml|image\/svg\+xml|(?:text|application)\/xml|.+\+xml|.+\/(?:x-)?(?:java|ecma)script)$/;

const nameCharactersMax = 255;

/**
 * The content-disposition of a response: active types are saved, not displayed. The name is written in `filename*`, in
 * which all characters except letters, digits and a few marks are escaped, so the name can't end the header.
 */
export function contentDisposition(name: string, mediaType: string): string {
  const [essence = ''] = mediaType.split(';', 1);
  const kind = active.test(essence.trim().toLowerCase()) ? 'attachment' : 'inline';
  // Truncated by code points, because half of a surrogate pair could not be encoded.
  const shown = Array.from(name.toWellFormed()).slice(0, nameCharactersMax).join('');
  return `${kind}; filename*=UTF-8''${encodeURIComponent(shown).replaceAll(/['()*]/g, escaped)}`;
}

function escaped(mark: string): string {
  return `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;
}
