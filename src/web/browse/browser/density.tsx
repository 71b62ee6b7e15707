import { signal } from '@preact/signals';
import { capitalize } from '../../../shared/figures.ts';
import { IconButton } from './controls.tsx';
import { type Density, densities } from './grid-layout.ts';

const cookie = 'mediactl-density';

/** How large the cards are. A cookie keeps it, since the next page has another port, and so a storage of its own. */
export const density = signal<Density>(
  densities.find((each) => document.cookie.includes(`${cookie}=${each}`)) ?? 'medium',
);

export const DensityChoice = () => (
  <fieldset class="density">
    <legend class="hidden">Size of the cards</legend>
    {densities.map((each) => (
      <IconButton
        key={each}
        icon={each}
        label={`${capitalize(each)} cards`}
        aria-pressed={density.value === each}
        onClick={() => {
          density.value = each;
          // biome-ignore lint/suspicious/noDocumentCookie: Firefox and Safari have had no Cookie Store for long
          document.cookie = `${cookie}=${each}; path=/; max-age=31536000; samesite=strict`;
        }}
      />
    ))}
  </fieldset>
);
