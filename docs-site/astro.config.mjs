// The site of the documentation. `npm run docs` writes its content to .content/ and then builds it.
import { readFileSync } from 'node:fs';
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import { copyWithoutComments, focusBlocks } from './code-blocks.mjs';

const sidebar = JSON.parse(readFileSync(new URL('.content/sidebar.json', import.meta.url), 'utf8'));

export default defineConfig({
  publicDir: '.content/public',
  // Images are served as they are, so the build needs no program for them.
  image: { service: passthroughImageService() },
  devToolbar: { enabled: false },
  integrations: [
    starlight({
      title: 'Baton',
      description: 'People, AI agents and services share work without stepping on each other.',
      favicon: '/favicon.svg',
      logo: { src: './.content/public/favicon.svg', alt: '' },
      sidebar,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      customCss: ['./src/styles/site.css'],
      components: {
        Head: './src/components/Head.astro',
        PageTitle: './src/components/PageTitle.astro',
      },
      credits: false,
      expressiveCode: { plugins: [copyWithoutComments(), focusBlocks()] },
      // The length of a page, such as the list of error codes, must not lower its rank.
      pagefind: { ranking: { pageLength: 0, termSimilarity: 20 } },
    }),
  ],
});
