"""Usernames follow the rules of `reviews.models.usernames`. The database stays as it is."""

from django.db import migrations, models

import reviews.models.people


class Migration(migrations.Migration):
    dependencies = [("reviews", "0022_extracted_scores")]

    operations = [
        migrations.AlterField(
            model_name="user",
            name="username",
            field=models.CharField(
                error_messages={"unique": "There is already somebody with that name."},
                max_length=150,
                unique=True,
                validators=[reviews.models.people.check_username],
            ),
        ),
    ]
